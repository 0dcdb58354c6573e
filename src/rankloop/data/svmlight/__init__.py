"""SVMlight/LETOR text: a reader (`reader`) on a compiled scanner, with a sentence for every broken rule (`grammar`)."""
