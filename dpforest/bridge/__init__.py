"""The bridge: the one place where secret becomes released.

A learner holds a bridge. It asks for a named query with the roles that are next on its plan's
list, and gets back a sealed total, which can do nothing but be noised, chosen from, drawn from or
minimised, once for each role that was paid for. So these follow from its shape, whoever learns:

* paid before counted: only `Bridge.ask` counts, and it asks the scope first;
* one grant, one release: a sealed total gives up a role's grant when it is used;
* the event's sensitivity is at least the query's, the score's range, or the objective's clip;
* sides are drawn as they were priced: by the bridge, which refuses a question by others;
* exactly what was planned is asked: the list has a cursor, and `Bridge.finish` looks at its end;
* each role has a stream of random words of its own, as have public draws and words by record: how
  many words one release took shows nowhere else.

Held by tests/test_bridge.py and tests/test_walls.py.
"""
