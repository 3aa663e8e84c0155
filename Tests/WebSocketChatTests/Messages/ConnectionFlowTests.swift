import Testing

@testable import WebSocketChat

@Suite struct ConnectionFlowTests {
    private let sender = FakeSender()
    private let id = ConnectionID.next()

    private func make(_ window: Int) -> ConnectionFlow { ConnectionFlow(id, window: window, transport: sender) }

    @Test func theWindowPausesExactlyWhenItIsFullAndResumesAtHalf() {
        let flow = make(4)
        flow.add(3)
        #expect(!flow.isPaused)
        flow.add(1)
        #expect(flow.isPaused)
        flow.settle()
        #expect(flow.isPaused && sender.told.isEmpty)
        flow.settle()
        #expect(!flow.isPaused)
        flow.settle()
        #expect(sender.commands(for: id) == [.resume])
    }

    @Test func aWindowOfOneTakesOneAtATime() {
        let flow = make(1)
        for _ in 0..<3 {
            flow.add(1)
            #expect(flow.isPaused)
            flow.settle()
            #expect(!flow.isPaused)
        }
        #expect(sender.commands(for: id) == [.resume, .resume, .resume])
    }

    @Test func itIsReadWhenNoReasonIsLeft() {
        let flow = make(2)
        flow.add(2)
        flow.pause(.room)
        flow.settle()
        flow.settle()
        #expect(flow.isPaused && sender.told.isEmpty)
        flow.unpause(.room)
        #expect(!flow.isPaused)
        flow.unpause(.room)
        #expect(sender.commands(for: id) == [.resume])
    }

    @Test func aPauseIsAskedForOnce() {
        let flow = make(2)
        flow.pause(.room)
        flow.pause(.room)
        flow.pause(.end)
        flow.unpause(.room)
        #expect(flow.isPaused)
        #expect(sender.commands(for: id) == [.pause])
    }

    /// Whatever the threads do, the last command is what the state says.
    @Test func commandsLeaveInTheOrderOfTheStates() async {
        let flow = make(1_000_000)
        await withTaskGroup { group in
            for reason in [PauseReasons.room, .end] {
                group.addTask {
                    for _ in 0..<2_000 {
                        flow.pause(reason)
                        flow.unpause(reason)
                    }
                }
            }
        }
        let commands = sender.commands(for: id)
        #expect(!flow.isPaused)
        for (index, command) in commands.enumerated() {
            #expect(command == (index.isMultiple(of: 2) ? .pause : .resume))
        }
        #expect(commands.count.isMultiple(of: 2) && !commands.isEmpty)
    }
}
