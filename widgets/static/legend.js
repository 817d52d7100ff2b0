// The meanings of words and signs: as tooltips where they are used, and as a list on demand.

const MEANINGS = {
  allowed: ["allowed", "token ids that the constraint lets through here, of all ids that the model gives a probability"],
  mass: ["feasible mass", "the model's own probability of all allowed tokens together: 1 if it agrees with the constraint, near 0 if it wants something else"],
  entropy: ["entropy", "how open the choice is, in bits: the model's alone → under the constraint"],
  kl: ["KL", "how far the mask moves the model's distribution, in bits; 0 if it changes nothing"],
  model: ["model", "the model's own probability, in per cent"],
  filtered: ["filtered", "the probability after the sampler's temperature and filters"],
  constrained: ["constr.", "the probability under the constraint: masked tokens have 0, and the others share the rest"],
  ahead: ["thin bar", "a look ahead: the model's probability of all tokens that will be allowed after this one; short where the token is likely for the sake of a continuation that is masked"],
  class: ["token class", "tokens that no state of the token DFA tells apart; a mask has a bit for each class"],
  states: ["character states, token states", "the states of the machine over characters; token states are those of them where a token can end"],
  forced: ["=", "forced: the only token allowed"],
  user: ["✓", "chosen by hand"],
  intervention: ["≠", "the model's first choice was masked"],
  again: ["↶", "token healing: the end of the prompt is written again, in tokens that fit the answer"],
  begins: ["▸", "response prefix: the answer begins with it; the model reads it, and the constraint begins after it"],
  accepted: ["»", "proposed by the draft and taken"],
  rejected: ["⊘", "the draft proposed another token, which was rejected"],
  parted: ["Δ", "in a comparison: the first token in which the two lines differ"],
  bridge: ["‿", "crosses a border of terminals, such as the end of a string and the comma after it"],
  fixed: ["▣", "fixed text of a template: tokenized beforehand, so the model was not asked"],
  bits: ["a number in a box", "bits: the logarithm of the token's perplexity, 1 over the model's probability of it; darker is more"],
  double: ["◎ double ring", "the text may end here; in the detokenizing FST, at r, a token has ended and the text may end"],
  small: ["○ small ring", "in the detokenizing FST: back to the root r, drawn there to save arcs"],
  ghost: ["◌ dashed ring", "a character state where no token ends; in the construction, a state that the next step takes away"],
  dot: ["• dot", "in the middle of a character of several bytes"],
  colours: ["blue, amber, dashed red", "the path so far; where we are and what the token in view takes; masked"],
};

/** What a word means, as a tooltip. */
const meaning = (name) => MEANINGS[name][1];

/** The list of all meanings, on demand. */
function legend() {
  return h("details.lmx-meanings", {}, h("summary", {}, "What the words and signs mean"),
    h("dl", {}, Object.values(MEANINGS).map(([word, said]) => [h("dt", {}, word), h("dd", {}, said)])));
}
