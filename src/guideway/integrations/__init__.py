"""What runs us: other libraries' loops over our constraints and expressions, one file for each."""
