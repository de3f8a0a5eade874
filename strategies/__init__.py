"""Operations as frozen data, and strategies that make them."""
