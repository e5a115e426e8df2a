"""Medians of what a noisy machine does."""
import statistics


def middle(values):
    """The median, and its standard error, by the median distance from it."""
    median = statistics.median(values)
    return median, 1.253 * 1.483 * statistics.median(abs(value - median) for value in values) / len(values) ** 0.5
