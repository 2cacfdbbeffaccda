// Holds the precompiled standard headers that every library reuses.
