"""Probabilities under a model and a constraint: of a text, of a whole language, and samples.

Decoding under a mask draws each token from the allowed ones, renormalised at that step. This is not
the model's distribution given that the text is allowed: a beginning is drawn without regard to how
unlikely its continuations are. The functions here compute both distributions, exactly if the
constraint is finite, otherwise from weighted samples.

Read in this order: `written` (a text with its probabilities; `probability`: given ids), `progress`,
`enumeration` (all texts of a finite constraint, prefixes shared), `particles` (draws under the
mask, with weights), `mass` (`probability_mass`), `distortion` (what masking changes), `sampling`
(`sample_conditional`: sequential Monte Carlo).
"""

from __future__ import annotations

from explorer.decoding.probability.distortion import Distortion, TextShare, masking_distortion
from explorer.decoding.probability.mass import ProbabilityMass, probability_mass
from explorer.decoding.probability.sampling import ConditionalSample, sample_conditional
from explorer.decoding.probability.written import TokenProbabilities, WrittenTokens, probability

__all__ = [
    "ConditionalSample",
    "Distortion",
    "ProbabilityMass",
    "TextShare",
    "TokenProbabilities",
    "WrittenTokens",
    "masking_distortion",
    "probability",
    "probability_mass",
    "sample_conditional",
]
