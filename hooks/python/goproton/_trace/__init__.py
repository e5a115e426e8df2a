"""What goproton.trace needs: what is recorded of compilations and launches, and the commands that read a trace."""
