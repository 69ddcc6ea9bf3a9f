"""Stands in for scikit-learn, and for the arrays that it returns."""


class Array(list):
    def __getitem__(self, place):
        found = super().__getitem__(place)
        return Array(found) if isinstance(place, slice) else found

    def tolist(self):
        return list(self)
