import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ListenerTests {
    @Test func messagesWaitInOrderForAListener() async throws {
        let trial = try PageTrial(
            """
            setTimeout(() => {
              signalbox.on('one', (body, info) => { report([info.action, String(info.id), body]); });
              signalbox.on('two', (body, info) => { report([info.action, String(info.id), body]); });
            }, 1);
            """
        )
        let page = trial.engine.page
        try page.send("one", id: ActionID("i"), body: Bytes("1"))
        try page.send("two", 2)
        try page.send("one", ["a": 3])
        try await trial.run {
            #expect(
                await trial.reports.first(3) == [
                    #"["one","i",1]"#, #"["one","undefined",{"a":3}]"#, #"["two","undefined",2]"#,
                ]
            )
        }
    }

    @Test func theLatestListenerOfAnActionIsCalledUntilRemoved() async throws {
        let trial = try PageTrial(
            """
            const removeFirst = signalbox.on('set', () => { report('never'); });
            const remove = signalbox.on('set', (body) => {
              report(body);
              removeFirst();
              if (body === 2) { remove(); report('removed'); setTimeout(() => signalbox.on('set', (b) => report('new ' + b)), 5); }
            });
            """
        )
        try await trial.run {
            for number in 1...3 { try trial.engine.page.send("set", number) }
            #expect(await trial.reports.first(4) == ["1", "2", #""removed""#, #""new 3""#])
        }
    }

    @Test func messagesWaitAfterAListenerRemovesItself() async throws {
        let trial = try PageTrial(
            """
            const once = () => { const remove = signalbox.on('item', (body) => { remove(); report(body); setTimeout(once, 1); }); };
            setTimeout(once, 1);
            """
        )
        for number in 1...4 { try trial.engine.page.send("item", number) }
        try await trial.run { #expect(await trial.reports.first(4) == ["1", "2", "3", "4"]) }
    }

    @Test func theOldestWaitingMessageIsDroppedAndLogged() async throws {
        let trial = try PageTrial(
            "signalbox.on('begin', () => { signalbox.on('item', (body) => { report(body); }); });",
            configure: { $0.messagesWithoutListener = 2 }
        )
        let page = trial.engine.page
        for number in 1...4 { try page.send("item", number) }
        try page.send("begin", 0)
        try await trial.run { #expect(await trial.reports.first(2) == ["3", "4"]) }
        let dropped = trial.log.all.filter { $0.contains("too many messages await a listener; dropped: ") }
        #expect(dropped.count == 2)
        #expect(dropped.allSatisfy { $0.hasPrefix("warning ") && $0.contains("item") })
    }

    @Test func aThrowingListenerIsAScriptErrorAndIsCalledAgain() async throws {
        let trial = try PageTrial(
            """
            setTimeout(() => {
              signalbox.on('item', (body) => { if (body < 3) throw new Error('item ' + body); report(body); });
              signalbox.on('async', async (body) => { if (body < 3) throw new Error('async ' + body); report(body); });
            }, 1);
            """
        )
        try await trial.run {
            for number in 1...3 { try trial.engine.page.send("item", number) }
            #expect(await trial.reports.first(1) == ["3"])
            try trial.engine.page.send("item", 2)
            try trial.engine.page.send("async", 1)
            try trial.engine.page.send("async", 4)
            #expect(await trial.reports.first(2) == ["3", "4"])
        }
        #expect(trial.engine.scriptErrors == 4)
        #expect(trial.log.all.contains { $0.contains("error script error: one.js:2:") && $0.contains("item 2") })
    }

    @Test func onRefusesInvalidActionsAndListeners() async throws {
        let trial = try PageTrial(
            """
            for (const values of [[1, () => 1], ['a'], ['a', {}]]) {
              try { signalbox.on(...values); } catch (error) { report([error.code, error.path]); }
            }
            """,
            configure: { $0.endsWhenIdle = true }
        )
        let reports = try await trial.untilEnd()
        #expect(
            reports == [
                #"["invalidArgument","action"]"#, #"["invalidArgument","listener"]"#,
                #"["invalidArgument","listener"]"#,
            ]
        )
    }
}
