"""Keeping a log: move it, check it, keep it small, forget people, compute a model anew.

Everything here may run beside a service: what reads does so at one moment without holding anybody up, and what writes
does it in short transactions or refuses with a sentence.
"""
