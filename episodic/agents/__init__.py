"""What people see of agents and crews: the list, and a page for each."""
