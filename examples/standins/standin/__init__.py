"""What the stand-ins share: the software device of the kit's reference, under a vendor's names."""
