"""Policies that run anywhere: ONNX files, and NumPy files with a reader of their own."""

from polygait.exporting.export import Exported, export

__all__ = ["Exported", "export"]
