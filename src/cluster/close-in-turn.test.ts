import { expect, test } from "vitest";
import { closeAfter, closeInTurn } from "./close-in-turn.ts";

test("one that fails keeps none of the others open", async () => {
  const closed: string[] = [];
  const step = (name: string, failure?: Error) => async () => {
    closed.push(name);
    if (failure) throw failure;
  };
  const closing = closeInTurn(
    step("a"),
    step("b", new Error("first")),
    step("c", new Error("second")),
    step("d"),
  );
  await expect(closing).rejects.toThrow("first");
  expect(closed).toEqual(["a", "b", "c", "d"]);
  await expect(closeInTurn(step("e"))).resolves.toBeUndefined();
});

test.each([
  { isStop: true, says: "left open" },
  { isStop: false, says: "why" },
])("what could not be closed after a start matters if it was stopped: $isStop", async ({ isStop, says }) => {
  const close = async () => {
    throw new Error("left open");
  };
  await expect(closeAfter(new Error("why"), { isStop, close })).rejects.toThrow(says);
  await expect(closeAfter(new Error("why"), { isStop, close: async () => {} })).rejects.toThrow("why");
});
