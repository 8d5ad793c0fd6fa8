"""The way to the providers: destinations, HTTP, and the driver that carries out what an exchange asks for."""
