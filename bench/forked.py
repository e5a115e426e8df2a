"""A measurement in a process of its own, for the other scripts of this folder."""
import multiprocessing


def in_a_process(measure, *arguments):
    """measure(*arguments), which is not None, in a process forked from this one, which must not have used the GPU; None if it ends with an error."""
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    process = context.Process(target=lambda: answer.put(measure(*arguments)))
    process.start()
    process.join()
    return None if process.exitcode else answer.get()
