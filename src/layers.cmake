# The layers and the arrows between them. A layer may use those it names and, through them, what they use.
homeostat_layer(base LIBS Threads::Threads OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog fmt::fmt)
homeostat_layer(object DEPS base LIBS simdjson yaml-cpp)
homeostat_layer(schema DEPS object)
homeostat_layer(patch DEPS schema)
homeostat_layer(cel DEPS schema)
homeostat_layer(store DEPS base LIBS rocksdb)
homeostat_layer(cache DEPS store schema)
