"""What commands read: requests in files, state of a gateway, images."""
