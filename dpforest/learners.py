"""Modules of this name left the package: what was pickled with them cannot be read."""

from dpforest.exceptions import ModelFormatError

raise ModelFormatError(
    "this was written by an earlier version of dpforest, whose modules had other names; read it "
    "with the version that wrote it, and store the model with its to_json"
)
