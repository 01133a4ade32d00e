"""The public interface."""
