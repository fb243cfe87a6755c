"""From .ipynb bytes to a Submission, and from a source notebook to its release."""
