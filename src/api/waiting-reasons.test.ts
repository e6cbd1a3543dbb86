import { expect, test } from "vitest";
import { healsByItself, waitingReasons } from "./waiting-reasons.ts";

test("3815-4 only what somebody has to mend counts as stuck", () => {
  const stuck = [...waitingReasons]
    .filter(([, { healsByItself }]) => !healsByItself)
    .map(([reason]) => reason);
  expect(stuck).toEqual(["InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"]);
});

test.each(["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "CrashLoopBackOff"])(
  "3815-4 %s heals by itself",
  (reason) => expect(healsByItself(reason)).toBe(true),
);

test.each(["", "SomethingNew", "constructor"])("an unknown reason heals: %j", (reason) => {
  expect(healsByItself(reason)).toBe(true);
});
