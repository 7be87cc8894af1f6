"""Work W on durare."""

import compiled

if __name__ == "__main__":
    compiled.run("durare", finishes=True)
