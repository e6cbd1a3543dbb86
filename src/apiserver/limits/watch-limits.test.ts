import { describe, expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import { createWatchLimits } from "./request-limits.ts";

const ofUser = (username: string, inProcess = false) => ({ username, inProcess });

function refusal(open: () => unknown): StatusError {
  try {
    open();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error("the watch was admitted");
}

describe("watch limits", () => {
  test("reject only the user who has reached the limit per user", () => {
    const limits = createWatchLimits({ total: 10, perUser: 2 });
    limits.enter(ofUser("alice"));
    limits.enter(ofUser("alice"));
    const { code, message, details } = refusal(() => limits.enter(ofUser("alice")));
    expect(code).toBe(429);
    expect(message).toContain('user "alice" has 2 open watches');
    expect(message).toContain("--max-watches-per-user");
    expect(details?.retryAfterSeconds).toBe(10);
    limits.enter(ofUser("bob"));
    expect(limits.count()).toBe(3);
  });

  test("reject every user when the total is reached", () => {
    const limits = createWatchLimits({ total: 2, perUser: 2 });
    limits.enter(ofUser("alice"));
    limits.enter(ofUser("bob"));
    expect(refusal(() => limits.enter(ofUser("carol"))).message).toContain("--max-watches allows");
  });

  test("accept a watch after another has ended", () => {
    const limits = createWatchLimits({ total: 1, perUser: 1 });
    const end = limits.enter(ofUser("alice"));
    end();
    limits.enter(ofUser("alice"));
    expect(limits.count()).toBe(1);
  });

  test("count watches inside the process for their user only", () => {
    const limits = createWatchLimits({ total: 1, perUser: 2 });
    limits.enter(ofUser("kubelet", true));
    limits.enter(ofUser("kubelet", true));
    expect(refusal(() => limits.enter(ofUser("kubelet", true))).message).toContain("per-user");
    limits.enter(ofUser("alice"));
    expect(limits.count()).toBe(3);
  });
});
