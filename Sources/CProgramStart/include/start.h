// The module has no functions to call: linking it adds a check that runs before the libraries' constructors.
