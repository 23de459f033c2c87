"""Files by name: in folders when embedded, in the database when scaled out."""
