import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite struct FrameHeadTests {
    private func head(_ kind: MessageKind, isCompressed: Bool = false, length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameHead(kind, isCompressed: isCompressed, length: length).append(to: &bytes)
        return bytes
    }

    @Test(
        arguments: [
            (0, [0x00]), (1, [0x01]), (125, [0x7D]), (126, [0x7E, 0x00, 0x7E]), (255, [0x7E, 0x00, 0xFF]),
            (65_535, [0x7E, 0xFF, 0xFF]), (65_536, [0x7F, 0, 0, 0, 0, 0, 1, 0, 0]),
            (0x0102_0304_0506, [0x7F, 0, 0, 1, 2, 3, 4, 5, 6]),
        ] as [(Int, [UInt8])]
    ) func theLengthTakesTheFewestBytes(length: Int, bytes: [UInt8]) {
        #expect(head(.text, length: length) == [0x81] + bytes)
    }

    @Test func theFirstByteHasTheKindAndTheCompression() {
        #expect(head(.text, length: 5) == [0x81, 5])
        #expect(head(.binary, length: 5) == [0x82, 5])
        #expect(head(.text, isCompressed: true, length: 5) == [0xC1, 5])
        #expect(head(.binary, isCompressed: true, length: 5) == [0xC2, 5])
    }

    @Test func noHeadIsLongerThanTheMaximum() {
        #expect(head(.text, length: .max).count == FrameHead.maximumSize)
    }
}

@Suite struct FrameBatchTests {
    private let roomy = 1 << 20

    private func take(_ batch: inout FrameBatch) -> [UInt8] {
        batch.take { Array($0) }
    }

    @Test func theFramesFollowEachOther() {
        var batch = FrameBatch(waitingBytes: roomy)
        let lengths = [0, 1, 125, 126, 1_000, 0, 20_000]
        for (number, length) in lengths.enumerated() {
            let content = [UInt8](repeating: UInt8(number), count: length)
            batch.append(content, .binary, isCompressed: number == 2, cost: length)
        }
        #expect(batch.cost == lengths.reduce(0, +))
        var rest = take(&batch)[...]
        for (number, length) in lengths.enumerated() {
            let content = [UInt8](repeating: UInt8(number), count: length)
            let frame = WireFrame(WireFrame.binary, content, reserved: number == 2 ? 4 : 0)
            #expect(WireFrame.take(from: &rest) == frame)
        }
        #expect(rest.isEmpty)
    }

    @Test func aTakenBatchIsEmpty() {
        var batch = FrameBatch(waitingBytes: roomy)
        #expect(batch.isEmpty)
        for _ in 0..<2 {
            batch.append(Array("text".utf8), .text, isCompressed: false, cost: FrameBatch.maximumCost)
            #expect(!batch.isEmpty)
            #expect(take(&batch) == [0x81, 4] + Array("text".utf8))
            #expect(batch.isEmpty)
            #expect(batch.cost == 0)
            #expect(batch.hasRoom(forCost: FrameBatch.maximumCost))
        }
    }

    @Test func aBatchHas64Messages() {
        var batch = FrameBatch(waitingBytes: roomy)
        for _ in 0..<64 {
            #expect(batch.hasRoom(forCost: 1))
            batch.append([], .text, isCompressed: false, cost: 1)
        }
        #expect(!batch.hasRoom(forCost: 1))
        #expect(take(&batch).count == 128)
    }

    @Test func aBatchCosts32KiBBeforeCompression() {
        var batch = FrameBatch(waitingBytes: roomy)
        #expect(!batch.hasRoom(forCost: 32_769))
        batch.append([1], .text, isCompressed: true, cost: 32_000)
        #expect(batch.hasRoom(forCost: 768))
        #expect(!batch.hasRoom(forCost: 769))
    }

    /// Otherwise, a slow connection would be full much earlier than its limit says.
    @Test func aBatchCostsAtMostASixteenthOfTheWaitingBytes() {
        let batch = FrameBatch(waitingBytes: 65_536)
        #expect(batch.hasRoom(forCost: 4_096))
        #expect(!batch.hasRoom(forCost: 4_097))
    }

    @Test func aClientsBatchHasNoRoom() {
        #expect(!FrameBatch(waitingBytes: 0).hasRoom(forCost: ServiceQueue.cost(of: [])))
    }
}
