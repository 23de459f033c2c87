"""System checks with hints; `manage.py check` and `doctor` run them."""
