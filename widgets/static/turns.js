// Presses, each in its turn: one is begun when the one before it was answered.
//
// Every press that moves the session waits here, so that none is dropped because an answer is still to come, and
// each is asked at the place that its page shows by then. Pages on the same cursor share one row of presses. A
// press that cannot have its effect says so: `ui.word` is shown where "kernel busy…" is.

const MOST_WAITING = 32; // Presses that wait for a kernel; more are refused with a word.
const REFUSED = `Not done: ${MOST_WAITING} presses wait for the kernel already.`;
const LEFT = "Not done: the place had changed before this was asked. Press again at the place that is shown now.";

/** An empty row of presses. */
const newTurns = () => ({ unanswered: 0, last: null });

/** `ui.turn`, which begins an action when its turn has come; `ui.waiting`, how many wait; `ui.remark`, a word about a
 * press that had no effect, which stays until the next press. */
function takeTurns(ui, look) {
  look.turns ??= newTurns();
  ui.turns = look.turns;
  ui.word = "";
  const shown = () => look.viewers.forEach((viewer) => viewer.changed());
  ui.remark = (word) => {
    if (ui.word === word) return;
    ui.word = word;
    ui.changed();
  };
  ui.waiting = () => Math.max(0, ui.turns.unanswered - 1); // One is under way.
  ui.turn = async (action) => {
    const row = ui.turns;
    if (ui.waiting() >= MOST_WAITING) {
      ui.remark(REFUSED);
      return { ok: false };
    }
    ui.remark("");
    const before = row.last;
    let end;
    row.last = new Promise((resolve) => (end = resolve));
    row.unanswered++;
    shown();
    if (row.unanswered > 1) await before;
    try {
      return (await action()) || { ok: true };
    } finally {
      row.unanswered--;
      end();
      shown();
    }
  };
}

/** A press keeps what is under it until it is released: a button that is drawn anew in between would not be the
 * one that was pressed, and the click would be lost. Not for long, because a pointer may also drag. */
const HELD = 500;
const pointer = (globalThis[Symbol.for("explorer.pointer")] ??= watchedPointer());

function watchedPointer() {
  const seen = { until: 0 };
  const on = (events, until) => events.forEach((event) => globalThis.addEventListener?.(event, () => (seen.until = until()), true));
  on(["pointerdown"], () => performance.now() + HELD);
  on(["pointerup", "pointercancel", "blur"], () => 0);
  return seen;
}

/** Whether a pointer is pressed now. */
const pressed = () => performance.now() < pointer.until;
