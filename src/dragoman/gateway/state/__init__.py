"""What is kept between requests, and work beside them."""
