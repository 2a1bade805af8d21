"""The bundled story: building it, and profiles of stories."""
