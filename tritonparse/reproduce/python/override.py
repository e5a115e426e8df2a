def _ir_override(name, text):
    """Puts the IR into a file of its own: Triton's cache goes by the path, not by the contents."""
    if os.environ.get("TRITON_INTERPRET") == "1":
        raise RuntimeError("Triton's interpreter runs Python, and this script has only compiled code, for a GPU: unset TRITON_INTERPRET, "
                           "or make the script with --kernel-import copy")
    if "ir_override" not in inspect.signature(triton.Config.__init__).parameters:
        raise RuntimeError(f"Triton {triton.__version__} cannot compile recorded IR; 3.4 or newer can")
    folder = tempfile.mkdtemp(prefix="reproduce-")  # only this user may read it, and each text gets a new name
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
