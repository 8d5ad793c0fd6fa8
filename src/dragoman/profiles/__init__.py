"""What providers and models accept: facts with evidence, in layers."""
