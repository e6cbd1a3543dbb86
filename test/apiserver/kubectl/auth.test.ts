import { beforeAll, describe, expect, test } from "vitest";
import { describeKubectl } from "../../support/kubectl/describe-kubectl.ts";

describeKubectl("kubectl auth", (cluster) => {
  const account = () => `system:serviceaccount:${cluster.namespace}:reader`;

  beforeAll(async () => {
    await cluster.ok("create serviceaccount reader");
    await cluster.ok("create role reader --verb=get,list --resource=pods,pods/log");
    await cluster.ok(`create rolebinding reader --role=reader --serviceaccount=${cluster.namespace}:reader`);
  });

  describe("can-i", () => {
    test.each([
      ["get pods", "yes"],
      ["* *", "yes"],
      ["get /metrics", "yes"],
      ["get pods --as=bob", "no"],
      ["list pods --as=ACCOUNT", "yes"],
      ["get pods --subresource=log --as=ACCOUNT", "yes"],
      ["get pods --subresource=exec --as=ACCOUNT", "no"],
      ["list pods -A --as=ACCOUNT", "no"],
      ["delete pods --as=ACCOUNT", "no"],
      ["create deployments.apps --as=bob --as-group=system:masters", "yes"],
    ])("%s: %s", async (question, answer) => {
      const { code, stdout } = await cluster.run(`auth can-i ${question.replace("ACCOUNT", account())}`);
      expect(stdout.trim()).toBe(answer);
      expect(code).toBe(answer === "yes" ? 0 : 1);
    });

    test("--list shows the rules", async () => {
      const text = await cluster.ok(`auth can-i --list --as=${account()}`);
      expect(text).toMatch(/^Resources +Non-Resource URLs +Resource Names +Verbs$/m);
      expect(text).toMatch(/^pods +\[\] +\[\] +\[get list\]$/m);
      expect(text).toMatch(/^selfsubjectaccessreviews.authorization.k8s.io +\[\] +\[\] +\[create\]$/m);
      expect(text).toMatch(/^ +\[\/version\] +\[\] +\[get\]$/m);
    });
  });

  test("whoami", async () => {
    const text = await cluster.ok("auth whoami");
    expect(text).toMatch(/^ATTRIBUTE +VALUE$/m);
    expect(text).toMatch(/^Username +kubernetes-admin$/m);
    expect(text).toMatch(/^Groups +\[system:masters system:authenticated\]$/m);
    expect(await cluster.ok(`auth whoami --as=${account()} -o jsonpath={.status.userInfo.groups}`)).toBe(
      `["system:serviceaccounts","system:serviceaccounts:${cluster.namespace}","system:authenticated"]`,
    );
  });

  test("reconcile adds missing rules of a role", async () => {
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }];
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "reader", namespace: cluster.namespace },
      rules,
    };
    expect(await cluster.ok("auth reconcile -f -", { input: JSON.stringify(role) })).toContain(
      "role.rbac.authorization.k8s.io/reader reconciled",
    );
    expect(await cluster.ok("get role reader -o jsonpath={.rules[*].resources}")).toBe(
      '["pods","pods/log"] ["secrets"]',
    );
  });

  test("a token that was never issued is rejected", async () => {
    const stranger = await cluster.as({ token: "made-up" });
    expect(await stranger.fails("get pods")).toContain(
      "error: You must be logged in to the server (the server has asked for the client to provide credentials)\n",
    );
  });
});
