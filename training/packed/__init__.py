"""The pipeline that makes packages/model/encoder.safetensors from packages of PyPI, npm and Debian. See ../README.md."""
