import CLibwebsockets

// libwebsockets 4.1.6 can compress by itself, but it mixes the messages of several connections up, as it keeps pointers into
// memory that they share, and aborts when a peer's message fills its memory exactly. So only its negotiation is used, which
// answers with what the table of options says, and the one call in which a frame's first byte can still be changed. What is
// compressed comes from it, and goes to it, as it is.
func libraryExtended(
    _ context: OpaquePointer?,
    _ entry: UnsafePointer<lws_extension>?,
    _ handle: OpaquePointer?,
    _ reason: lws_extension_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    guard let context, let handle, let owner = lws_context_user(context) else { return -1 }
    return Unmanaged<LibraryLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef { loop in
        loop.extended(handle, reason, input)
    }
}

extension LibraryLoop {
    func extended(
        _ handle: OpaquePointer,
        _ reason: lws_extension_callback_reasons,
        _ input: UnsafeMutableRawPointer?
    ) -> Int32 {
        switch reason {
        case LWS_EXT_CB_CONSTRUCT: clws_answer_options(input)
        case LWS_EXT_CB_CLIENT_CONSTRUCT:
            // The library has room for one.
            guard let connection = connection(of: handle), connection.agreement == nil else { return -1 }
            clws_read_options(input)
        case LWS_EXT_CB_OPTION_CONFIRM: return confirm(handle)
        case LWS_EXT_CB_PACKET_TX_PRESEND: if sendsCompressed { clws_mark_compressed(input) }
        default: break
        }
        return 0
    }

    /// Whether one of a client's offers is the chosen one; called for each in their order.
    func agrees(_ handle: OpaquePointer) -> Bool {
        guard server?.place.compresses == true, let connection = connection(of: handle),
            let offers = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle),
            let chosen = DeflateAgreement.chosen(from: offers)
        else { return false }
        defer { connection.offersSeen += 1 }
        guard chosen.place == connection.offersSeen else { return false }
        connection.agreement = chosen.agreement
        return true
    }

    private func confirm(_ handle: OpaquePointer) -> Int32 {
        guard let connection = connection(of: handle), connection.target?.offersCompression == true,
            let answer = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle),
            let agreement = DeflateAgreement.told(by: answer)
        else { return -1 }
        connection.agreement = agreement
        return 0
    }
}
