"""Which browser looks at pages: chromium without a window, for it has none of a window's work to do."""

import shutil

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
HOW_TO_GET_IT = "there is no chromium on this machine: apt-get install chromium-headless-shell"
