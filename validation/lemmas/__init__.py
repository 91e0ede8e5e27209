"""Both sides of every lemma of a proof, measured along a run, and what each link of the proof loses.

A lemma bounds one step (or one round, or the whole run) by quantities of the run itself: the consensus error, the error of
an estimate, the noise. `measure_chain` runs the method on a certified problem, takes the exact statistics that the lemma
names, evaluates the lemma as it is declared in `bounds`, and compares: at the steps that end in a communication and at
the others apart. These are means with standard errors, measurements and no verdicts.

Two numbers say where a proof loses. The *slack* of a link is right/left; below 1 the link fails on this run. A link with
a descent term c ||grad||^2 is read as c ||grad||^2 <= everything else, other lemmas have their negative terms moved to
the left. The *implied bound* of a link with a descent term is what it alone gives for the mean squared gradient, with
everything else as measured; the growth from one link to the next is the factor that the later one costs.
"""
