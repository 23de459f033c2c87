"""What every provider must do, as named checks."""
