"""A real search to try rankloop on: the standard library of the Python that runs it.

| module | what it does |
|---|---|
| `library` | every public module, class, function and method, with its documentation |
| `engine`  | a full-text search over them: candidates with features |
| `tastes`  | what simulated people secretly like: true grades |
| `visitors`| people who search, look, and click; how good a ranking is for their taste |
| `comparison` | the model in the service, and a rival where one is asked for |
| `crowd`   | a thousand visitors, one after the other, and what becomes of the ranking meanwhile |
| `curve`   | that, as a drawing |
| `explaining` | why a result stands where it stands, and what a click changed |
| `pages`   | all of it in a browser |
"""
