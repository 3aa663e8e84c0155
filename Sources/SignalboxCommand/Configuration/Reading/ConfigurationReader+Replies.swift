import SignalboxCore
import Yams

extension ConfigurationReader {
    /// A value that can be written as JSON.
    func reply(_ value: YAMLValue) -> ReplyValue? {
        guard let reply = any(value) else { return nil }
        do throws(BodyError) {
            _ = try BodyWriter.write(reply)
            return reply
        } catch {
            value.complain("cannot be written as JSON: \(error)")
            return nil
        }
    }

    private func any(_ value: YAMLValue) -> ReplyValue? {
        switch value.node {
        case .mapping:
            let members = value.anyMapping()?.entries.map { ($0.name, any($0.value)) } ?? []
            // With a mistake in one of them there is no whole value; a name written twice is told of before.
            guard !members.contains(where: { $0.1 == nil }) else { return nil }
            return .members(
                Dictionary(members.compactMap { name, value in value.map { (name, $0) } }) { first, _ in first }
            )
        case .sequence:
            let values = value.list()?.map(any) ?? []
            return values.contains(nil) ? nil : .list(values.compactMap { $0 })
        case .scalar, .alias:
            return scalar(value)
        }
    }

    private func scalar(_ value: YAMLValue) -> ReplyValue? {
        if value.isNull { return .null }
        switch Tag.Name(rawValue: value.node.tag.description) {
        case .bool: return value.flag().map(ReplyValue.truth)
        case .int, .float: return number(value)
        default: return value.anyText().map(ReplyValue.text)
        }
    }

    /// A number in JSON's own form: others, such as `0x10` or `010`, mean different things to different readers.
    private func number(_ value: YAMLValue) -> ReplyValue? {
        let advice = "expected a number as JSON writes it, or text in quotes"
        guard let literal = value.characters, let body = try? Body(json: Bytes(literal)) else {
            value.complain("\(advice); found \(value.found)")
            return nil
        }
        if let integer = try? body.decode(Int64.self) { return .integer(integer) }
        if let large = try? body.decode(UInt64.self) { return .large(large) }
        do throws(BodyError) {
            return .number(try body.decode(Double.self))
        } catch {
            value.complain("\(advice); found \(value.found), which is \(error.code)")
            return nil
        }
    }
}
