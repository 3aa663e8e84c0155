#if os(Linux)
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// One fault after the other in a running program, watched in the console and in `top`.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ChaosTests {
    @Test func eachFaultIsNamed() async throws {
        try await Broker.with { broker in
            let place = FileManager.default.temporaryDirectory.appendingPathComponent(
                "disk-\(UInt16.random(in: .min ... .max))"
            )
            defer { try? FileManager.default.removeItem(at: place) }
            let hasDisk = try await SmallDisk.with(at: place, megabytes: 64) { disk in
                try await run(broker, disk, store: place)
            }
            if !hasDisk {
                print("skipped: a full disk: no file system can be mounted here")
                try await run(broker, nil, store: place)
            }
        }
    }

    private func run(_ broker: Broker, _ disk: SmallDisk?, store: URL) async throws {
        try await ChaosTrial.with(broker, store: store) { trial in
            try await pluginHangs(trial, broker)
            try await brokerIsKilled(trial, broker)
            if let disk { try await diskIsFull(trial, disk) }
            try await messagesFlood(trial)
            #expect(trial.tab.console.isEmpty, "\(trial.tab.console)")
        }
    }

    private func pluginHangs(_ trial: ChaosTrial, _ broker: Broker) async throws {
        let switchFile = trial.folder.appendingPathComponent("hang")
        try Data().write(to: switchFile)
        try await trial.watch("plugin-hangs", for: ["push/order: timeout: "]) {
            // Each takes a second, so that the source stays full on a busy machine too.
            try await broker.publish(lines: (1...60).map { "{\"number\":\($0)}" }, to: "shop/order")
        }
        // While the plugin hangs, its source fills up.
        try await trial.untilConsole(["push: ", " of 10 messages are not settled"])
        try FileManager.default.removeItem(at: switchFile)
        try await trial.untilGone("messages are not settled")
    }

    private func brokerIsKilled(_ trial: ChaosTrial, _ broker: Broker) async throws {
        try await trial.watch("broker-killed", for: ["push: ", "connection refused"]) { await broker.kill() }
        try await broker.restart()
        try await trial.untilGone("connection refused")
    }

    private func diskIsFull(_ trial: ChaosTrial, _ disk: SmallDisk) async throws {
        try await trial.watch("disk-full", for: ["the store cannot be written", "no space on the device"]) {
            try disk.fill()
            try trial.process.type("app://bad")
        }
        try disk.free()
        try await trial.untilGone("the store cannot be written")
    }

    private func messagesFlood(_ trial: ChaosTrial) async throws {
        try await trial.watch("flood", for: ["links/good: overloaded: "]) { trial.process.keepTyping("app://good") }
    }
}
#endif
