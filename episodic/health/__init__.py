"""Memory health: five metrics, their causes and fixes, trends and forecasts."""
