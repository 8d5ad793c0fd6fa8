"""The servers of the emulators: HTTP, WebSockets, and a thread for code that is not asynchronous."""
