import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeap } from "./heap.ts";

test("pops items in order after any sequence of pushes and pops", () => {
  // A number is pushed, null pops.
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20))), (steps) => {
      const heap = createHeap<number>((a, b) => a < b);
      const model: number[] = [];
      for (const step of steps) {
        if (step !== null) {
          heap.push(step);
          model.push(step);
          model.sort((a, b) => a - b);
        } else expect(heap.pop()).toBe(model.shift());
        expect(heap.peek()).toBe(model[0]);
      }
    }),
  );
});
