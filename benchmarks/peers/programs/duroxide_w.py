"""Work W on duroxide."""

import compiled

if __name__ == "__main__":
    # After a kill, it waits for the lock of an activity, 30 s by default.
    compiled.run("duroxide", finishes=False)
