@testable import BrokerKit

/// 5.5.1, 7.4 and the registry of close codes.
extension FrameVectors {
    static var closes: [FrameVector] {
        let codes: [UInt16] = [
            1_000, 1_001, 1_002, 1_003, 1_007, 1_008, 1_009, 1_010, 1_011, 3_000, 3_999, 4_000, 4_999,
        ]
        // libwebsockets 4.1.6 does not know these and answers 1002, with which the connection ends as well.
        let late: [UInt16] = [1_012, 1_013, 1_014]
        return codes.map { FrameVector("close \($0)", [.close($0)], .closed([nil, 1_000, $0])) }
            + late.map { FrameVector("close \($0)", [.close($0)], .closed([nil, 1_000, 1_002, $0])) }
    }

    static var closing: [FrameVector] {
        let greek = Array("κόσμε".utf8)
        let long = [UInt8](repeating: 0x61, count: 123)
        let ping = WireFrame(WireFrame.ping)
        let normal = WireFrame.close(1_000)
        return [
            FrameVector("close without a code", [WireFrame(WireFrame.close)], .closed([nil, 1_000])),
            FrameVector("close with a reason", [.close(1_000, greek)], .closed([nil, 1_000])),
            FrameVector("close with a reason of 123 bytes", [.close(1_000, long)], .closed([nil, 1_000])),
            FrameVector("close within a message", beginning("Hel") + [normal] + ending("lo"), .closed([nil, 1_000])),
            FrameVector("a message before close", [hello, normal], messages: [hello], .closed([nil, 1_000])),
            FrameVector("a message after close is not heard", [normal, hello], .closed([nil, 1_000])),
            FrameVector("a ping after close is not answered", [normal, ping], .closed([nil, 1_000])),
            FrameVector("two close frames", [normal, .close(1_001)], .closed([nil, 1_000, 1_001])),
            // Malformed (5.5.1), and taken for one without a code.
            FrameVector("close with half a code", [WireFrame(WireFrame.close, [3])], .closed([nil, 1_002])),
        ]
    }

    static var brokenCloses: [FrameVector] {
        let codes: [UInt16] = [0, 999, 1_004, 1_005, 1_006, 1_015, 1_016, 1_100, 2_000, 2_999]
        return codes.map { FrameVector("close \($0) must not be", [.close($0)], .closed([1_002])) } + [
            FrameVector("close with a reason that is no UTF-8", [.close(1_000, [0xC3, 0x28])], .dropped)
        ]
    }
}
