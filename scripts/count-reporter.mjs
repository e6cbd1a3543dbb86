// Ends the log of a CI run with the skipped tests, each failure with its reason, and one line with the number of
// passed, failed and skipped tests.
export default class CountReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const skipped = [];
    const failures = [];
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        counts[state] = (counts[state] ?? 0) + 1;
        if (state === "skipped") skipped.push(test.fullName);
        if (state === "failed")
          failures.push(failure(`${module.relativeModuleId} > ${test.fullName}`, errors));
      }
      // A file that fails to load, or a failing hook, has no failed test, so the file itself is counted.
      if (module.state() === "failed" && [...module.children.allTests("failed")].length === 0) {
        counts.failed++;
        failures.push(failure(module.relativeModuleId, moduleErrors(module)));
      }
    }
    counts.failed += unhandledErrors.length;
    for (const error of unhandledErrors) failures.push(failure("outside of every test", [error]));
    for (const name of skipped) console.log(`skipped: ${name}`);
    for (const text of failures) console.log(text);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}

function moduleErrors(module) {
  const suites = [...module.children.allSuites("failed")];
  return [...module.errors(), ...suites.flatMap((suite) => suite.errors())];
}

function failure(name, errors = []) {
  const reasons = errors.map(
    (error) => `  ${(error.stack ?? error.message).split("\n").slice(0, 8).join("\n  ")}`,
  );
  return [`failed: ${name}`, ...reasons].join("\n");
}
