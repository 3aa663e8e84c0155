import BrokerKit
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

/// Pages whose scripts have replaced members of objects, arrays and globals.
@Suite(.timeLimit(.minutes(10))) struct PollutionTests {
    private static let script = """
        const { then } = Promise.prototype, { apply } = Reflect, later = setTimeout, Failure = Error;
        const failed = (promise, listener) => apply(then, promise, [undefined, listener]);
        signalbox.on('double', (n) => 2 * n);
        \(HostilePage.pollution)
        \(HostilePage.thenPollution)
        console.log(new Failure('told'));
        for (let n = 1; n <= 20; n += 1) report(n);
        later((text) => {
          report(text);
          failed(signalbox.call('none', 1, { id: 'one' }), (error) => {
            report(error.code);
            failed(signalbox.call('object'), (error) => { report(error.message); });
          });
        }, 1, 'timer');
        later(() => { throw new Failure('boom'); }, 1);
        """

    @Test func pollutedPrototypesDoNotBreakTheBridge() async throws {
        let trial = try PageTrial(Self.script)
        // The language asks an object that settles a promise for `then`: the call fails, but it does not hang.
        try trial.supervisor.register("object", as: RawBody.self, from: .script()) { _, _ in [1] }
        try await trial.run {
            let expected = (1...20).map(String.init) + [#""timer""#, #""unknownAction""#, #""polluted""#]
            let reports = await trial.reports.wait { $0.count >= expected.count || !expected.starts(with: $0) }
            #expect(reports == expected)
            let page = trial.engine.page
            for number in [4, 5] {
                let doubled = try await page.call("double", number, returning: Int.self, timeout: .seconds(300))
                #expect(doubled == 2 * number)
            }
            let thrown = await trial.hears("Error: boom")
            let hasPlace = thrown.contains(/one\.js:\d+:\d+: Error: boom/)
            #expect(hasPlace, "\(thrown)")
            let shown = await trial.hears("Error: told")
            #expect(shown.contains("Error: told (global code@one.js:"), "\(shown)")
        }
    }
}
