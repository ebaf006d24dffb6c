"""What winnow adds to a checkpoint of TRL; see `winnow.host.checkpoint`."""

from winnow.host.checkpoint import identity, load, save

__all__ = ["identity", "load", "save"]
