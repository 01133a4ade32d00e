"""What people call."""
